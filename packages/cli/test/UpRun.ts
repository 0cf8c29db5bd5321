/** Runs `atropos up` as a process on ports of its own, and reads what it says of held-out items. */
import * as Bin from "./Bin.ts"

export const up = (cwd: string, ...words: ReadonlyArray<string>) =>
  Bin.run(["up", "--port", "0", "--policy_port", "0", ...words], { cwd })

/** Percent of the held-out items before and after, of one environment where there are several. */
export const solvedIn = (stdout: string, environment = ""): readonly [number, number] => {
  const line = new RegExp(`${environment}\\D*(\\d+\\.\\d)% \\(.* before, (\\d+\\.\\d)% \\(.* after`).exec(
    stdout.slice(stdout.indexOf("held-out items solved"))
  )
  return [Number(line?.[1]), Number(line?.[2])]
}
