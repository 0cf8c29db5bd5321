/** A user of two turns: reads what was said, and asks for one thing more. */
import { text } from "node:stream/consumers"

const { messages, stop_reason: stopped, turn } = JSON.parse(await text(process.stdin))
if (stopped !== "end_turn" || messages.length !== 2 * turn) throw new Error(`turn ${turn}: ${stopped}`)
if (turn === 1) console.log("And now a summary.")
