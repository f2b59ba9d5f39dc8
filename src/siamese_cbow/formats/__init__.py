"""Files and folders of other programs as our models, and back."""
