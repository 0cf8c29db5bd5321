/**
 * Forwards ports of its loopback to socket files: `relayProcess [{"path":SOCKET,"port":PORT},…] READY`. It prints
 * READY once it listens, and ends with its input; or it runs the command that follows, and ends with its exit code.
 *
 * Runs next to an agent that has no network, in the same namespace. Imports nothing of the project: only its file is
 * mounted there.
 */
import { spawn } from "node:child_process"
import { connect, createServer } from "node:net"

const [json = "", ready = "", ...command] = process.argv.slice(2)
// Only `GatewayRelay` writes it.
const doors = JSON.parse(json) as ReadonlyArray<{ readonly path: string; readonly port: number }>

const listening = (): void => {
  if (command.length === 0) {
    console.log(ready)
    process.stdin.resume().on("end", () => process.exit())
    return
  }
  const [program = "", ...words] = command
  spawn(program, words, { stdio: "inherit" })
    .on("error", ({ message }) => {
      console.error(message)
      process.exit(127)
    })
    .on("exit", (code) => process.exit(code ?? 137))
}

let count = 0
for (const { path, port } of doors)
  createServer({ allowHalfOpen: true }, (client) => {
    const gateway = connect({ path, allowHalfOpen: true })
    client.on("error", () => gateway.destroy()).pipe(gateway)
    gateway.on("error", () => client.destroy()).pipe(client)
  }).listen(port, "127.0.0.1", () => {
    count++
    if (count === doors.length) listening()
  })
