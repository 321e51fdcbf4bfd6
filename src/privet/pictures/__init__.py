"""What people look at: trees, shapes and plans drawn, a report of a model. Nothing here is unreleased."""
