"""The console: output, errors, help, options, connections to the API."""
