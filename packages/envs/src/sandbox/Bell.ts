/**
 * Waits for messages in a thread that cannot return to its event loop because a program runs in it.
 *
 * The sender of a message rings the thread's bell afterwards; `next` polls the ports and sleeps between rings.
 */
import { type MessagePort, receiveMessageOnPort } from "node:worker_threads"

export type Bell = Int32Array<SharedArrayBuffer>

export const make = (): Bell => new Int32Array(new SharedArrayBuffer(4))

export const ring = (bell: Bell): void => {
  Atomics.add(bell, 0, 1)
  Atomics.notify(bell, 0)
}

/** The next message of the first port that has one, with the index of that port. */
export const next = (
  bell: Bell,
  ports: ReadonlyArray<MessagePort>
): { readonly port: number; readonly message: unknown } => {
  for (;;) {
    const rings = Atomics.load(bell, 0)
    for (const [port, from] of ports.entries()) {
      const received: { readonly message: unknown } | undefined = receiveMessageOnPort(from)
      if (received !== undefined) return { port, message: received.message }
    }
    Atomics.wait(bell, 0, rings)
  }
}
