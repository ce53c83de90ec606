"""The rules: one kind of finding each. A rule looks at a case and gives a finding, or None; it changes nothing."""
