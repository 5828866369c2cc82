"""Matches, runs and ratings: playing whole matches against other agents."""
