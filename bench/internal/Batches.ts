/** Takes batches as a trainer does: from the original's endpoint, or packed from ours; false if none yet. */
import * as Load from "./Load.ts"
import type { RunningServer } from "./Servers.ts"
import * as Session from "./Session.ts"

const mustBeRight = ({ body, status }: Load.Answer): void => {
  if (status >= 300) throw new Error(`no batch: ${status} ${body.toString("utf8", 0, 300)}`)
}

/** A poll of the original's endpoint; stops at the bytes, parsing is up to the trainer. */
export const takeJson =
  ({ port }: RunningServer) =>
  async (pool: Load.Pool): Promise<boolean> => {
    const answer = await Load.send(port, { method: "GET", path: "/batch" }, pool)
    mustBeRight(answer)
    return answer.bytes > 1000
  }

export const takePacked =
  ({ port }: RunningServer) =>
  async (pool: Load.Pool): Promise<boolean> => {
    const claim = Session.post("/v1/runs/default/batches/claim", { owner: "bench", wait_seconds: 0, lease_seconds: 60 })
    const headers = { ...claim.headers, accept: "application/vnd.atropos.group" }
    const answer = await Load.send(port, { ...claim, headers }, pool)
    mustBeRight(answer)
    if (answer.status === 204) return false
    const path = `/v1/runs/default/batches/${String(answer.headers["atropos-batch-id"])}/ack`
    mustBeRight(await Load.send(port, Session.post(path, { lease_token: answer.headers["atropos-lease-token"] }), pool))
    return true
  }
