/** The trajectory service of Atropos. */
export * as TrajectoryStore from "./TrajectoryStore.ts"
