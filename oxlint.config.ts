import { globSync } from "node:fs"
import { posix } from "node:path"
import { defineConfig, type OxlintOverride } from "oxlint"

/**
 * Which folder of a package may import which: each those before it in its list, none after it and none round in a
 * circle. `.` is the package's `src` itself; its `index.ts` stands above all. `docs/architecture.md` says what each
 * folder holds.
 */
const floors = {
  core: [
    "base/json",
    "base",
    "base/system",
    "http",
    "trajectory",
    "reward",
    "evaluation",
    "definition",
    ".",
    "health",
    "data",
    "service/wire",
    "service/api",
    "service",
    "service/documents",
    "service/memory",
    "inference/jinja",
    "inference/tokenizer",
    "inference/format",
    "inference/session",
    "inference/wire",
    "inference/backend",
    "inference/sequences",
    "inference",
    "gateway/dialect",
    "gateway/dialect/chat",
    "gateway/dialect/messages",
    "gateway/dialect/responses",
    "gateway/session",
    "gateway",
    "metrics",
    "metrics/wandb",
    "rollout/submit",
    "rollout/pool",
    "rollout/state",
    "rollout"
  ],
  api: [
    "base",
    "rollout",
    "store",
    "http",
    "objects",
    "migrations",
    "database",
    "postgres/base",
    "postgres/queue",
    "postgres/runs",
    "postgres/reading",
    "postgres",
    "metrics",
    "submission",
    "claim",
    "v0",
    "v1",
    "."
  ],
  viewer: [
    "route",
    "save",
    "source",
    "state",
    "ui",
    "query",
    "metrics",
    "health",
    "chart",
    "notes",
    "groups/message",
    "groups/model",
    "groups/list",
    "groups/tokens",
    "groups/compare",
    "groups/waterfall",
    "groups",
    "reverified",
    "evaluation",
    "distribution",
    "service",
    "run",
    "hacking",
    "layout",
    "."
  ],
  envs: [
    "base",
    "verify/text",
    "verify/math/expression",
    "verify/math",
    "verify/choice",
    "verify",
    "sandbox",
    "rewards",
    "kit",
    "kit/tools",
    "kit/driven",
    "agent",
    "code",
    "coding",
    "command",
    "dataset",
    "desk",
    "games",
    "harbor",
    "harbor/cloud",
    "instructions",
    "json-schema",
    "letters",
    "answer-format",
    "reversal",
    "sql",
    "regex",
    "markets",
    "math",
    "mcqa",
    "openenv",
    "pictures",
    "python",
    "suite/ifeval",
    "suite",
    "tools",
    "travel",
    "connected",
    ".",
    "registry"
  ],
  trainer: [
    "base",
    "tinker/protocol/gen",
    "tinker/protocol",
    "tinker/client",
    "graph/gen",
    "graph",
    "exec",
    "model/family",
    "model/file",
    "model/part",
    "model",
    "loss",
    "learn",
    "checkpoint",
    "grammar",
    "engine/cache",
    "engine",
    "server",
    "sync",
    "local",
    "torch",
    "tinker",
    "tinker/service",
    "tinker/server",
    "run",
    "."
  ],
  cli: [
    "base",
    "config",
    "help",
    "job",
    "view",
    "process",
    "atif",
    "gateway",
    "openenv",
    "evaluate",
    "sets/source",
    "sets",
    "train",
    "top",
    "up",
    "doctor",
    "init",
    "validate",
    "reverify",
    "commands",
    "commands/sets",
    "commands/evaluate",
    "."
  ]
} as const

interface Pattern {
  readonly group?: Array<string>
  readonly regex?: string
  readonly allowTypeImports?: boolean
  readonly message: string
}

const coreAlone: Pattern = {
  group: ["@atropos/*", "!@atropos/core", "!@atropos/core/*"],
  message: "api, envs and trainer import core only"
}

/** Its index loads a client of Redis, 650 modules, at every start. */
const byModule: Pattern = {
  regex: "^@effect/platform-node$",
  message: "import the module itself: @effect/platform-node/NodeServices"
}

const viewerAlone: Array<Pattern> = [
  {
    group: [
      "@atropos/**",
      "!@atropos/api/rollout/*",
      "!@atropos/core/reward/ScoreAdvantage",
      "!@atropos/core/trajectory/Timings",
      "!@atropos/core/trajectory/VersionRuns",
      "!@atropos/core/evaluation/*",
      "!@atropos/core/health/Health",
      "!@atropos/core/base/TimeSpan",
      "!@atropos/core/service/api/RolloutOrder"
    ],
    allowTypeImports: true,
    message:
      "the viewer knows the service by its HTTP API, and shares with it what `rollout` holds, and pure functions of core"
  },
  {
    regex: "^(\\.\\./)+(src|core)/",
    message: "the viewer's folder ends here: what it shares with the service has a package's name"
  }
]

const packages: Record<keyof typeof floors, ReadonlyArray<Pattern>> = {
  core: [{ group: ["@atropos/*"], message: "core imports no other package" }, byModule],
  api: [coreAlone, byModule],
  viewer: viewerAlone,
  envs: [coreAlone, byModule],
  trainer: [coreAlone, byModule],
  cli: [byModule]
}

const restricted = (files: string, patterns: Array<Pattern>): OxlintOverride => ({
  files: [files],
  rules: { "no-restricted-imports": ["error", { patterns }] }
})

/** Imports, from a file right in `folder`, of a file right in `target`. */
const importOf = (folder: string, target: string): string => {
  const path = posix.relative(folder, target)
  return `^${(path.startsWith(".") ? path : `./${path}`).replaceAll(".", "\\.")}/[^/]+$`
}

const rootOf = (name: keyof typeof floors): string =>
  name === "viewer" ? "packages/api/viewer/src" : posix.join("packages", name, "src")

const layered = (name: keyof typeof floors): Array<OxlintOverride> => {
  const known: ReadonlyArray<string> = floors[name]
  const root = rootOf(name)
  const unknown = globSync("**/*.{ts,tsx}", { cwd: root }).find((file) => !known.includes(posix.dirname(file)))
  if (unknown !== undefined) throw new Error(`${root}/${unknown}: its folder has no floor in oxlint.config.ts`)
  return floors[name].map((folder, at) =>
    restricted(posix.join(root, folder, "*.{ts,tsx}"), [
      ...packages[name],
      ...floors[name].slice(at + 1).map((above) => ({
        regex: importOf(folder, above),
        message: `${folder} lies below ${above}: see the floors in oxlint.config.ts`
      }))
    ])
  )
}

export default defineConfig({
  plugins: ["typescript", "import", "unicorn", "promise", "vitest"],
  categories: { correctness: "error", suspicious: "error" },
  rules: {
    "typescript/no-explicit-any": "error",
    "typescript/no-floating-promises": "error",
    "typescript/no-misused-promises": "error",
    "typescript/no-non-null-assertion": "off",
    "typescript/no-unsafe-type-assertion": "off",
    "import/no-cycle": ["error", { ignoreTypes: false }],
    "import/no-unassigned-import": [
      "error",
      {
        allow: ["**/base/NodeVersion*"]
      }
    ],
    "unicorn/no-array-sort": "off",
    "unicorn/require-post-message-target-origin": "off",
    "no-shadow": "off",
    "no-underscore-dangle": [
      "error",
      {
        allow: ["_tag"]
      }
    ],
    "consistent-return": "off",
    "no-await-in-loop": "off",
    "require-yield": "off"
  },
  overrides: [
    {
      files: ["packages/api/viewer/src/**"],
      plugins: ["typescript", "import", "unicorn", "promise", "react", "jsx-a11y"],
      rules: {
        "react/react-in-jsx-scope": "off",
        "react/rules-of-hooks": "error",
        "react/exhaustive-deps": "error",
        "react/exhaustive-effect-dependencies": "off",
        "react/incompatible-library": "off",
        "jsx-a11y/prefer-tag-over-role": "off",
        "jsx-a11y/no-noninteractive-tabindex": "off",
        "jsx-a11y/control-has-associated-label": "off",
        "promise/always-return": "off",
        "import/no-unassigned-import": [
          "error",
          {
            allow: ["**/*.css"]
          }
        ]
      }
    },
    {
      files: ["packages/{core,api,envs,trainer}/src/**", "packages/api/viewer/src/**"],
      rules: { "max-lines": ["error", 300], "max-lines-per-function": ["error", 120] }
    },
    ...(["core", "api", "envs", "trainer"] as const).map((name) =>
      restricted(`packages/${name}/src/**`, [...packages[name]])
    ),
    ...layered("core"),
    ...layered("api"),
    restricted("packages/api/src/rollout/*.ts", [
      {
        group: ["**", "!./*", "!@atropos/core/evaluation/Expected"],
        message: "it runs in browsers too: it imports nothing from outside its folder but what imports nothing"
      }
    ]),
    ...layered("viewer"),
    ...layered("envs"),
    ...layered("trainer"),
    ...layered("cli"),
    {
      files: ["packages/cli/src/**"],
      rules: { "max-lines": ["error", { max: 300 }], "max-lines-per-function": ["error", { max: 120 }] }
    },
    ...(["core", "envs"] as const).map((name) => restricted(`packages/${name}/src/index.ts`, [...packages[name]]))
  ],
  ignorePatterns: ["**/dist/**", "**/fixtures/**", "**/gen/**"]
})
