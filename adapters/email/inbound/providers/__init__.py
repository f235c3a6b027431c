"""Mail that a provider's webhook brings: a file for each provider. All of them are verified first."""
