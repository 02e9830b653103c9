"""The package as users get it: built, judged, installed in every way that the README names."""
