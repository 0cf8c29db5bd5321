#!/bin/sh
printf 'Hello, %s!\n' "$(cat /app/name.txt)" > /app/greeting.txt
