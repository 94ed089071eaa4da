package mcpclient

import "time"

func init() { grace = time.Second }
