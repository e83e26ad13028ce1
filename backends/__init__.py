"""What a document can be turned into."""
