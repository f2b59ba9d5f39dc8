"""Models: a vocabulary plus vectors."""
