"""Integer loops over codes: route rows through trees, count, add up votes. No randomness, no policy.

``route`` and ``vote`` serve models; ``count`` sees rows and labels together and is for the wall alone.
"""
