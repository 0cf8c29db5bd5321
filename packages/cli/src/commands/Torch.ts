/** `atropos torch`: `install` makes the environment of `--engine torch`; `join` adds this machine to a trainer. */
import * as TorchInstall from "@atropos/trainer/torch/TorchInstall"
import * as TorchCommand from "@atropos/trainer/torch/TorchCommand"
import { Clock, Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { ChildProcess, ChildProcessSpawner } from "effect/process"
import { CommandFailed, UsageError } from "../base/Failure.ts"
import * as Services from "../config/Services.ts"
import { availableParallelism } from "node:os"
import type { MakeCommand } from "./CliCommand.ts"

const name: string = "torch"

/** Runs a program whose output goes to the terminal, since it takes minutes; its exit code. */
const codeOf = Effect.fnUntraced(function* (
  words: ReadonlyArray<string>,
  env: { readonly [name: string]: string } = {}
) {
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  const [program = "", ...rest] = words
  const command = ChildProcess.make(program, rest, {
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
    env,
    extendEnv: true
  })
  return Number(yield* spawner.exitCode(command))
})

const run = Effect.fnUntraced(function* (words: ReadonlyArray<string>) {
  const [program = "", ...rest] = words
  const failed = (reason: string) =>
    new CommandFailed({
      message: `${program} ${reason}: ${rest.join(" ")}. If the package index has no PyTorch for this machine, name another one with --index, or install uv`
    })
  const code = yield* Effect.mapError(codeOf(words), ({ message }) => failed(message))
  if (code !== 0) return yield* failed(`ended with code ${code}`)
})

const install = Command.make(
  "install",
  {
    cuda: Flag.Boolean("cuda").pipe(
      Flag.withDescription("the build for NVIDIA GPUs [default: if nvidia-smi is on the path]"),
      Flag.withDefault(false)
    ),
    cpu: Flag.Boolean("cpu").pipe(Flag.withDescription("the build for CPUs"), Flag.withDefault(false)),
    python: Flag.String("python").pipe(
      Flag.withDescription("the Python that makes the environment, 3.11 or newer [default: python3]"),
      Flag.withDefault("python3")
    ),
    index: Flag.String("index").pipe(
      Flag.withDescription("URL of another package index that has PyTorch's CPU build"),
      Flag.optional
    )
  },
  ({ cpu, cuda, index, python }) =>
    Effect.gen(function* () {
      if (cpu && cuda) return yield* new UsageError({ message: "--cuda and --cpu exclude each other" })
      const build = cuda ? "cuda" : cpu ? "cpu" : TorchInstall.suited()
      const uv = TorchInstall.uv()
      const [downloaded, installed] = TorchInstall.gigabytes[build]
      yield* Console.log(
        `installing PyTorch for ${build === "cuda" ? "CUDA" : "the CPU"} with ${uv === undefined ? "pip" : "uv"}: downloads about ${downloaded} GB, takes ${installed} GB on the disk; Ctrl-C stops it`
      )
      const options = { build, python, uv, index: Option.getOrUndefined(index) } as const
      const made = yield* TorchInstall.install(options, run)
      yield* Console.log(`installed: ${made}; --engine torch uses it unless --python names another one`)
    }).pipe(Effect.mapError(Services.toFailure))
).pipe(Command.withDescription("Install PyTorch for --engine torch in a separate environment"))

/** Processes that end sooner never met the trainer. */
const soonSeconds = 20

const join = Command.make(
  "join",
  {
    rendezvous: Argument.String("host:port").pipe(Argument.withDescription("the trainer's --rendezvous")),
    node: Flag.Int("node").pipe(Flag.withDescription("index of this machine: 1 for the first after the trainer's")),
    nodes: Flag.Int("nodes").pipe(Flag.withDescription("the trainer's --nodes [default: 2]"), Flag.withDefault(2)),
    gpus: Flag.String("gpus").pipe(
      Flag.withSchema(TorchCommand.GpuList),
      Flag.withDescription("GPUs of this machine, for example 0-3, as many as the trainer's [default: the first]"),
      Flag.optional
    ),
    python: Flag.String("python").pipe(
      Flag.withDescription("the Python interpreter [default: that of torch install, else python3]"),
      Flag.optional
    )
  },
  ({ gpus: list, node, nodes, python, rendezvous }) =>
    Effect.gen(function* () {
      if (TorchCommand.addressOf(rendezvous) === undefined) {
        return yield* new UsageError({ message: `${rendezvous} is not host:port` })
      }
      if (node < 1 || node >= nodes) {
        return yield* new UsageError({
          message: `--node ${node}: expected 1 to ${nodes - 1}; 0 is the trainer's machine`
        })
      }
      const gpus = Option.isSome(list) ? TorchCommand.gpusOf(list.value) : undefined
      const ranks = gpus?.length ?? 1
      const options: TorchCommand.Options = {
        python: yield* TorchInstall.interpreter(Option.getOrNull(python)),
        ranks,
        threads: Math.max(1, Math.floor(availableParallelism() / ranks)),
        ...(gpus && { gpus: gpus.join(",") }),
        machines: { count: nodes, rendezvous }
      }
      yield* Console.log(`machine ${node} of ${nodes}: joining the trainer at ${rendezvous}; Ctrl-C leaves it`)
      for (;;) {
        const started = yield* Clock.currentTimeMillis
        const code = yield* codeOf(TorchCommand.words(options, node), TorchCommand.environment(options))
        if (code === 0) return yield* Console.log("the trainer has ended")
        if ((yield* Clock.currentTimeMillis) - started < 1000 * soonSeconds) {
          return yield* new CommandFailed({ message: `PyTorch's processes ended with code ${code}: see above` })
        }
        yield* Console.log(
          `PyTorch's processes ended with code ${code}: joining again, since the trainer resumes from its last checkpoint`
        )
      }
    }).pipe(Effect.mapError(Services.toFailure))
).pipe(Command.withDescription("Train on this machine too, for a trainer with --engine torch --nodes on another one"))

export const make: MakeCommand = () =>
  Effect.succeed({
    command: Command.make(name).pipe(Command.withSubcommands([install, join])),
    booleans: new Set(["cuda", "cpu"])
  })
