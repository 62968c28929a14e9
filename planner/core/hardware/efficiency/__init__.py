"""How much of its ceilings each class of operator reaches: small fitted curves, one file per class."""
