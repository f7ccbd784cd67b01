"""A plugin whose module needs a package that is not installed."""

import a_package_that_is_not_installed

NotImportable = a_package_that_is_not_installed.Variant
