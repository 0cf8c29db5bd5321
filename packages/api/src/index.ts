/** The trajectory service of Atropos. */
export * as Auth from "./Auth.ts"
export * as Payloads from "./Payloads.ts"
export * as Prometheus from "./Prometheus.ts"
export * as ServiceMetrics from "./ServiceMetrics.ts"
export * as TrajectoryClientInProcess from "./TrajectoryClientInProcess.ts"
export * as TrajectoryService from "./TrajectoryService.ts"
export * as TrajectoryStore from "./TrajectoryStore.ts"
export * as V1 from "./v1/index.ts"
