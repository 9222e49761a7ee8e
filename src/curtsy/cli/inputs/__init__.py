"""Lists of URLs as people have them: lines, tables, JSON."""
