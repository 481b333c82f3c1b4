"""The pages' words in Russian, a module for each part; English is in the templates."""
