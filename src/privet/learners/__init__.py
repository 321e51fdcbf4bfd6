"""Learners, written in the questions of the wall and nothing else: ``learn(protected)`` gives a model."""
