/**
 * Ends the connections of Node's own `fetch` before the service stops. When a stream is aborted, `fetch` opens a connection that it
 * sends nothing over; the service would wait for it as long as it waits for an answer to be read.
 */
import { Effect, Layer } from "effect"

interface Dispatcher {
  readonly destroy: () => Promise<void>
  readonly constructor: new () => Dispatcher
}

const key = Symbol.for("undici.globalDispatcher.1")
// Node keeps the dispatcher of `fetch` under this name, which its types do not tell.
const kept = globalThis as unknown as { [key]: Dispatcher | undefined }

export const layer = Layer.effectDiscard(
  Effect.addFinalizer(() =>
    Effect.promise(async () => {
      const dispatcher = kept[key]
      if (dispatcher === undefined) return
      kept[key] = new dispatcher.constructor()
      await dispatcher.destroy()
    })
  )
)
