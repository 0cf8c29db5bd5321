/** Metrics of the inference servers, under the original's names. */
import type { ServerMetrics } from "../inference/wire/Inference.ts"

export const of = (servers: ReadonlyArray<ServerMetrics>): { readonly [name: string]: number } => {
  const figures: Record<string, number> = {}
  const order = [...new Set(servers.map(({ server }) => server))]
  for (const metrics of servers) {
    // Like the original's watcher of inference nodes; nodes are not known here.
    figures[`server/server_health_0_${order.indexOf(metrics.server)}`] = metrics.healthy ? 1 : 0
    if (metrics.count === 0) continue
    const name = `server/server_${order.indexOf(metrics.server)}${metrics.split === "eval" ? "_eval" : ""}`
    if (Number.isFinite(metrics.limit)) figures[`${name}_request_limit`] = metrics.limit
    figures[`${name}_request_time_avg`] = metrics.latencyMean
    figures[`${name}_request_time_std`] = metrics.latencyStd
    figures[`${name}_request_time_max`] = metrics.latencyMax
    figures[`${name}_request_time_p95`] = metrics.latencyP95
    // The original's word order.
    figures[`${name}_request_time_99p`] = metrics.latencyP99
    figures[`${name}_average_num_attempts`] = 1 + metrics.retries / metrics.count
    figures[`${name}_tokens_per_second`] = metrics.tokensPerSecond
    figures[`${name}_failures`] = metrics.failures
  }
  return figures
}
