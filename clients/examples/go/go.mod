module ludex/examples/bot

go 1.19
