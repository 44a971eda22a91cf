# Filled in with the first release of the package.
