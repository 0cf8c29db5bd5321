/**
 * Manages processes of the check, the original's Python programs and our command; keeps each one's output for failures.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { setTimeout as sleep } from "node:timers/promises"

/** The original's checkout, the interpreter with its dependencies, and rows of GSM8K (`train.jsonl`, `test.jsonl`). */
export interface Original {
  readonly folder: string
  readonly python: string
  readonly rows: string
}

/** From ATROPOS_ORIGINAL, ATROPOS_ORIGINAL_PYTHON and ATROPOS_GSM8K. */
export const original = (): Original => {
  const { ATROPOS_GSM8K: rows, ATROPOS_ORIGINAL: folder, ATROPOS_ORIGINAL_PYTHON: python = "python3" } = process.env
  if (folder === undefined || rows === undefined) {
    throw new Error(
      "set ATROPOS_ORIGINAL to a checkout of the Python original, ATROPOS_ORIGINAL_PYTHON to an interpreter with its " +
        "dependencies, and ATROPOS_GSM8K to a folder with train.jsonl and test.jsonl"
    )
  }
  return { folder, python, rows }
}

export interface Running {
  readonly name: string
  readonly exited: Promise<number | null>
  readonly output: () => string
  /** Sends SIGINT as Ctrl-C does; kills it after 20 seconds. */
  readonly stop: () => Promise<void>
}

export interface Command {
  readonly name: string
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly cwd?: string
  readonly env?: Record<string, string>
}

export const start = ({ args, command, cwd, env, name }: Command): Running => {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] })
  let output = ""
  const keep = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-20_000)
  }
  child.stdout.on("data", keep)
  child.stderr.on("data", keep)
  const exited = once(child, "close").then(() => child.exitCode)
  return {
    name,
    exited,
    output: () => output,
    stop: async () => {
      if (child.exitCode === null) child.kill("SIGINT")
      const isGone = await Promise.race([exited.then(() => true), sleep(20_000, false, { ref: false })])
      if (!isGone) child.kill("SIGKILL")
      await exited
    }
  }
}

/** Waits for it to end, which must be successful and in time. */
export const finish = async (running: Running, seconds: number): Promise<string> => {
  const code = await Promise.race([running.exited, sleep(seconds * 1000, "late" as const, { ref: false })])
  if (code === 0) return running.output()
  await running.stop()
  const how = code === "late" ? `was not done after ${seconds} s` : `ended with ${code}`
  throw new Error(`${running.name} ${how}:\n${running.output().slice(-4000)}`)
}

/** Waits until it responds on this path. */
export const untilAnswers = async (url: string, running: Running): Promise<void> => {
  for (let attempt = 0; attempt < 300; attempt++) {
    const isUp = await fetch(url).then(
      ({ ok }) => ok,
      () => false
    )
    if (isUp) return
    const ended = await Promise.race([running.exited.then(() => true), sleep(200, false)])
    if (ended) break
  }
  throw new Error(`${running.name} does not answer at ${url}:\n${running.output().slice(-4000)}`)
}
