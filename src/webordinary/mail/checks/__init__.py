"""Where a mail comes from: SPF, DKIM and DMARC, with guards around the libraries that evaluate them."""
