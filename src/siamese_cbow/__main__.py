"""`python -m siamese_cbow` is the command `siamese-cbow`."""

from siamese_cbow.cli import main

if __name__ == "__main__":
    main()
