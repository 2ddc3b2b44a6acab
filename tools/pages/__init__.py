"""The generated pages of docs/, and the generated parts of others (``pages.built``)."""
