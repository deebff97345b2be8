// Keys of the address of memory over time: the chosen moment, how it is stacked, the batch, and changed assumptions.
export const OVER_TIME_KEYS = ["instant", "stack", "batch", "fixed", "scaled"] as const;
