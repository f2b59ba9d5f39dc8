"""Evaluation: STS sets, protocols, correlations, significance. Anything with `.encode` can be scored."""
