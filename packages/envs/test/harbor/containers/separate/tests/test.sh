#!/bin/sh
found=$(cat /app/greeting.txt 2>/dev/null)
if [ "$found" = "$EXPECTED" ]; then reward=1; else reward=0; fi
echo "found: $found"
echo "$reward" > /logs/verifier/reward.txt
