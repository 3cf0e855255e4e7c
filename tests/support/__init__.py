"""What tests of several parts share: clocks that are moved by hand, providers that are driven by hand."""
