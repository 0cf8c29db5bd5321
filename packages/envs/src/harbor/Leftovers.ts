/**
 * Removes leftovers of environments from an engine: containers and snapshots of processes that have ended, and images
 * that no environment has used for a week.
 */
import { createHash } from "node:crypto"
import { hostname } from "node:os"
import * as Platform from "@atropos/core/base/system/Platform"
import { Clock, Effect } from "effect"
import type { ProgramError } from "../command/ProcessSupervisor.ts"
import type { Docker } from "./Docker.ts"
import type { HarborError } from "./HarborError.ts"

type Failure = HarborError | ProgramError

/** Process ids are those of one machine; several, or containers, may share an engine. */
const machine = createHash("sha256").update(hostname()).digest("hex").slice(0, 8)

/** Names this process as the owner of a container or snapshot. */
export const owner = `${process.pid}-${machine}`

export const label = `atropos.harbor=${owner}`

/** The repository of images that were built for tasks; each has the day of its last use as a label. */
export const repository = "atropos-harbor"
const used = "atropos.used"
const maxDays = 7
const dayMillis = 86_400_000

const dayOf = (millis: number): string => new Date(millis).toISOString().slice(0, 10)

export const usedToday: Effect.Effect<string> = Effect.map(
  Clock.currentTimeMillis,
  (millis) => `${used}=${dayOf(millis)}`
)

const callSeconds = 120

/** The owner's process, in its label or the tag of its snapshot; undefined if it is not of this machine. */
const processOf = (name: string): number | undefined => {
  const [, pid, on] = /^(?:.*:)?(\d+)-([\da-f]{8})(?:-\w+)?$/.exec(name) ?? []
  return on === machine ? Number(pid) : undefined
}

const list = ({ call }: Docker, words: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<string>, Failure> =>
  Effect.map(call({ words, what: "cannot list containers and images", seconds: callSeconds }), (text) =>
    text === "" ? [] : text.split("\n")
  )

/** Removes containers and snapshots of processes of this machine that have ended. */
const ofEnded = Effect.fnUntraced(function* (docker: Docker) {
  for (const [words, remove] of [
    [
      ["ps", "--all", "--filter", "label=atropos.harbor", "--format", '{{.ID}} {{.Label "atropos.harbor"}}'],
      ["rm", "--force", "--volumes"]
    ],
    [
      ["images", "--filter", "label=atropos.harbor", "--format", "{{.ID}} {{.Repository}}:{{.Tag}}"],
      ["rmi", "--force"]
    ]
  ] as const) {
    for (const line of yield* list(docker, words)) {
      const [id = "", name = ""] = line.split(" ")
      const pid = processOf(name)
      if (pid !== undefined && !(yield* Platform.isAlive(pid))) {
        yield* docker.run({ words: [...remove, id], seconds: callSeconds })
      }
    }
  }
})

/** Removes images that no container uses: those of long ago, and those replaced before today. */
const ofLongAgo = Effect.fnUntraced(function* (docker: Docker) {
  const now = yield* Clock.currentTimeMillis
  const oldest = dayOf(now - maxDays * dayMillis)
  const today = dayOf(now)
  for (const [format, filter, before] of [
    // By its name: images of the same files are one, which stays as long as it has a name.
    ["{{.Repository}}:{{.Tag}}", `reference=${repository}`, oldest],
    ["{{.ID}}", "dangling=true", today]
  ] as const) {
    const listing = ["images", "--format", format, "--filter", `label=${used}`, "--filter", filter]
    const names = [...new Set(yield* list(docker, listing))]
    if (names.length === 0) continue
    const label = `{{index .Config.Labels "${used}"}}`
    const words = ["image", "inspect", "--format", label, ...names]
    const { ending, stdout } = yield* docker.run({ words, seconds: callSeconds })
    // Another process may be removing them.
    if (ending?._tag !== "Exited" || ending.code !== 0) continue
    const days = stdout.split("\n")
    for (const [index, name] of names.entries()) {
      // Without --force: an image in use stays.
      if (days[index]! < before) yield* docker.run({ words: ["rmi", name], seconds: callSeconds })
    }
  }
})

export const sweep = (docker: Docker): Effect.Effect<void, Failure> =>
  Effect.andThen(ofEnded(docker), ofLongAgo(docker))

/** Twice: the daemon may still be creating a container for a call that was killed. */
const removal = `for pause in 0 2; do
  sleep $pause
  containers=$("$@" ps --all --quiet --filter "$FILTER") && [ -n "$containers" ] && "$@" rm --force --volumes $containers
  snapshots=$("$@" images --quiet --filter "$FILTER") && [ -n "$snapshots" ] && "$@" rmi --force $snapshots
done`

/** The command that removes all containers and snapshots of this process, once it has been killed. */
export const removalOf = ({ program, variables }: Docker) => ({
  words: ["sh", "-c", removal, "sh", ...program],
  variables: { ...variables, FILTER: `label=${label}` }
})
