/** `atropos dpo-gen OUT`: writes pairs of a better and a worse sequence of each group as a preference data set. */
import * as SetCommand from "./SetCommand.ts"

export const make = SetCommand.make({
  name: "dpo-gen",
  kind: "dpo",
  max: { flag: "save-n-pairs-per-group", description: "pairs to write per group", fallback: 3 },
  minimumDifference: 0.5,
  examples: [
    {
      command: "atropos dpo-gen pairs.jsonl --from data/groups.jsonl --save-messages --format trl",
      description: "from saved groups"
    },
    {
      command: "atropos dpo-gen pairs.parquet --tokenizer ./model --validation-fraction 0.1 --seed 7",
      description: "from the service at http://localhost:8000, as text, in two splits without common prompts"
    }
  ]
})
