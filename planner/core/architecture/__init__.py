"""What a model is: layers made of mixers and feed-forwards, each listing its matrices, caches and cores."""
