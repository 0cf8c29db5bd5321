/** A back end over a server of which nothing is known yet, as `ServerManager` makes it. */
import { ServerSettings, type Tokenizer } from "@atropos/core"
import { Effect, References } from "effect"
import * as Probed from "../../../src/inference/backend/Probed.ts"
import * as Transport from "../../../src/inference/wire/Transport.ts"
import * as Reasoning from "../../../src/inference/backend/Reasoning.ts"

export const backendOf = (
  url: string,
  settings: Partial<ServerSettings.Server> = {},
  tokenizer?: Tokenizer.TokenizerShape
) =>
  Effect.flatMap(Transport.make, (transport) =>
    Probed.backend(
      {
        settings: ServerSettings.server.complete({ baseUrl: `${url}/v1`, ...settings }),
        reasoning: Reasoning.off,
        transport
      },
      tokenizer
    )
  )

/** These servers are meant to be warned of. */
export const quiet = Effect.provideService(References.MinimumLogLevel, "None")
