"""Pictures: coding, resizing, cropping, colours, boxes."""
