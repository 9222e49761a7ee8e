"""Finds the article of a page: metadata, the element that holds the text, text and markdown.

A page is parsed once and laid out as flat lists (`outline`); nothing walks the tree again, and
nothing recurses, so that a hostile page costs what its size costs.
"""
