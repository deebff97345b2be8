"""Where the parts of a run of many hosts are computed: in this process, in others of this machine, or on a cluster."""
