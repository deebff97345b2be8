// A small response of the server, for the tests of this page.

const stats = (stack: number, heap: number, free: number, fragmentation: number) => ({
  stackReservedBytes: String(stack),
  heapAllocatedBytes: String(heap),
  freeMemoryBytes: String(free),
  fragmentation,
  peakBytesInUse: "600",
});

const event = (release: boolean, bytes: number, more: object = {}) => ({
  memoryActivity: release ? "DEALLOCATION" : "ALLOCATION",
  requestedBytes: String(bytes - 1),
  allocationBytes: String(bytes),
  address: "123456789012345678",
  tfOpName: "",
  stepId: "0",
  regionType: "",
  dataType: "INVALID",
  tensorShape: "",
  ...more,
});

const named = { tfOpName: "model/conv/Conv2D", regionType: "output", dataType: "float", tensorShape: "[2,3]", stepId: "7" };

const history = [
  { timeOffsetPs: "1000000000", aggregationStats: stats(100, 200, 700, 0.25), activityMetadata: event(false, 200, named) },
  { timeOffsetPs: "2000000000", aggregationStats: stats(100, 500, 400, 0.5), activityMetadata: event(false, 300) },
  { timeOffsetPs: "5000000000", aggregationStats: stats(100, 200, 700, 0.25), activityMetadata: event(true, 300) },
];

export const ANSWER = {
  memoryProfilePerAllocator: {
    "0": {
      memoryProfileSnapshots: [history[0], history[1]],
      profileSummary: {
        peakBytesUsageLifetime: "900",
        peakStats: stats(100, 500, 400, 0.5),
        peakStatsTimePs: "2000000000",
        memoryCapacity: "1000",
      },
      activeAllocations: [
        { snapshotIndex: "1", specialIndex: "-1", numOccurrences: "1" },
        { snapshotIndex: "0", specialIndex: "-1", numOccurrences: "2" },
        { snapshotIndex: "-1", specialIndex: "0", numOccurrences: "1" },
      ],
      specialAllocations: [
        event(false, 101, {
          tfOpName: "stack",
          regionType: "stack",
          tensorShape: "unknown",
          allocationBytes: "100",
          requestedBytes: "100",
        }),
      ],
      sampledTimelineSnapshots: history,
    },
    "1": {
      memoryProfileSnapshots: [],
      profileSummary: {
        peakBytesUsageLifetime: "0",
        peakStats: stats(0, 10, 990, 0),
        peakStatsTimePs: "1000000000",
        memoryCapacity: "1000",
      },
      activeAllocations: [],
      specialAllocations: [],
      sampledTimelineSnapshots: [history[0]],
    },
  },
  numHosts: 1,
  memoryIds: ["0", "1"],
  version: 1,
  hloModules: [{ name: "jit_f(12)", startTimePs: "1500000000", endTimePs: "1700000000", id: "3", planeName: "TPU:0" }],
};

export const NOTHING = { memoryProfilePerAllocator: {}, numHosts: 1, memoryIds: [], version: 1, hloModules: [] };
