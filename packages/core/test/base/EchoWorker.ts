/** A thread that is ready immediately, echoes its input, and can end in several ways. */
import { parentPort, workerData } from "node:worker_threads"

export type Question = "exit" | "fail" | "grow" | "hang" | Uint8Array

const grow = (): never => {
  const rows: Array<unknown> = []
  for (;;) rows.push(Array.from({ length: 1000 }, () => ({})))
}

const hang = (): never => {
  port?.postMessage("hanging")
  for (;;) continue
}

const port = parentPort
port?.postMessage(workerData)
port?.on("message", (question: Question) => {
  if (question === "exit") process.exit(3)
  if (question === "fail") throw new Error("as asked")
  if (question === "grow") grow()
  if (question === "hang") hang()
  port.postMessage(question)
})
