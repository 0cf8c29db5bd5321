/**
 * Pictures: dots are drawn, and the model states how many it sees.
 *
 * A picture is sent as a data URL, in the user's message to the model and in the group's `images` to the service, whose
 * viewer shows it. Run it: `npx node --conditions=atropos-src examples/12-pictures.ts`.
 */
import { Environment, ServerManager, type Trajectory } from "@atropos/core"
import { Picture } from "@atropos/envs"
import { Console, Effect, Layer, Stream } from "effect"

const svg = (dots: number): string => {
  const circles = Array.from({ length: dots }, (_, at) => `<circle cx="${12 + 20 * at}" cy="16" r="8" fill="crimson"/>`)
  return `<svg xmlns="http://www.w3.org/2000/svg" width="128" height="32"><rect width="128" height="32" fill="white"/>${circles.join("")}</svg>`
}

export const layer = Environment.layer("dots", Environment.settings({}), ({ groupSize, maxTokenLength }) =>
  Effect.gen(function* () {
    const servers = yield* ServerManager.ServerManager
    return {
      items: (cursor: number) => Stream.range(cursor + 1, 6),
      collectTrajectories: Effect.fn("Dots.collectTrajectories")(function* (dots: number) {
        const picture = yield* Picture.render(svg(dots))
        const trajectories = yield* servers.chat({
          messages: [Picture.message("How many dots? Say the number alone.", picture)],
          n: groupSize,
          maxTokens: maxTokenLength
        })
        return { groups: [{ trajectories, images: trajectories.map(() => Picture.dataUrl(picture)) }] }
      }),
      score: (dots: number, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.succeed(group.map(({ completion }) => (completion.trim() === String(dots) ? 1 : 0))),
      claims: {
        scoreRange: [0, 1] as const,
        gold: (dots: number) => [String(dots)],
        wrong: (dots: number) => [String(dots + 1), "many"]
      }
    }
  })
)

/** Prints the scores of the first three pictures, and the encoding of a picture. */
export const program = Effect.gen(function* () {
  const { groups } = yield* Environment.Environment
  yield* Stream.runForEach(Stream.take(groups, 3), ({ images, messages, scores }) => {
    const [picture] = Array.isArray(images) ? images.map(String) : []
    const parts = messages![0]![0]!.content
    const sent = Array.isArray(parts) ? parts.map(({ type }) => type).join(" and ") : "text"
    return Console.log(`scores ${Array.from(scores).join(" ")}, ${sent}, ${picture?.slice(0, 21)}`)
  })
}).pipe(Effect.provide(layer({ groupSize: 3 }).pipe(Layer.provide(ServerManager.layerScripted(["1", "2", "3"])))))

if (import.meta.main) await Effect.runPromise(program)
