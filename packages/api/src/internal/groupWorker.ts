/** The thread that reads large submissions: takes one body at a time, answers with what `GroupReader.readHere` makes of it. */
import { Result } from "effect"
import { parentPort } from "node:worker_threads"
import { readHere, type Reply, type Task } from "../GroupReader.ts"

const answer = ({ body, kind, limits }: Task): Reply =>
  Result.match(readHere(kind, body, limits), {
    onSuccess: (groups): Reply => ({ groups }),
    onFailure: ({ details, reason }): Reply => ({ reason, details })
  })

parentPort?.on("message", (task: Task) => {
  const reply = answer(task)
  // Small results may share one buffer, which must go once.
  const buffers = new Set("groups" in reply ? reply.groups.map(({ json }) => json.buffer as ArrayBuffer) : [])
  parentPort?.postMessage(
    reply,
    [...buffers].filter((buffer) => buffer.byteLength > 65_536)
  )
})
