/** Memory of this machine's first GPU, as reported by `nvidia-smi`; unknown for other devices. */
import { execFile } from "node:child_process"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"

const lookMillis = 100

const execute = promisify(execFile)

/** MiB in use on the device, by all processes; undefined if unknown. */
const used = async (): Promise<number | undefined> => {
  const query = ["--query-gpu=memory.used", "--format=csv,noheader,nounits"]
  const output = await execute("nvidia-smi", query).catch(() => undefined)
  return output === undefined ? undefined : Number(output.stdout.trim().split("\n")[0])
}

const mostUntil = async (end: AbortSignal): Promise<number> => {
  let most = 0
  while (!end.aborted) {
    most = Math.max(most, (await used()) ?? 0)
    await sleep(lookMillis)
  }
  return most
}

/** The result of `work`, and the peak of memory in use meanwhile minus that before: MiB. */
export const during = async <A>(
  work: () => Promise<A>
): Promise<{ readonly result: A; readonly megabytes: number | undefined }> => {
  const before = await used()
  if (before === undefined) return { result: await work(), megabytes: undefined }
  const end = new AbortController()
  const most = mostUntil(end.signal)
  const result = await work().finally(() => end.abort())
  return { result, megabytes: (await most) - before }
}
