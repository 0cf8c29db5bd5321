/** `atropos sft-gen OUT`: writes the best sequences of each group as a data set for supervised fine-tuning. */
import * as SetCommand from "./SetCommand.ts"

export const make = SetCommand.make({
  name: "sft-gen",
  kind: "sft",
  max: { flag: "save-top-n-per-group", description: "best sequences to write per group", fallback: 3 },
  minimumDifference: 0,
  examples: [
    {
      command: "atropos sft-gen sft.jsonl --save-messages --format trl --num-seqs-to-save 1000",
      description: "from the service at http://localhost:8000, without disturbing its trainer"
    },
    {
      command: "atropos sft-gen sft.parquet --from data/*.jsonl --tokenizer Qwen/Qwen3-0.6B --dedupe",
      description: "from saved groups, as text"
    },
    {
      command: "atropos sft-gen - --env arithmetic-stories --openai.base_url http://localhost:9001/v1 | head",
      description: "directly from an environment"
    }
  ]
})
