"""Images: coding, resizing, cropping, colours, boxes."""
