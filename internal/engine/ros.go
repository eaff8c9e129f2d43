package engine

// ROS is the dialect of Resource Orchestration Service of Alibaba Cloud.
var ROS Dialect = ros{CloudFormation}

type ros struct{ Dialect }

func (ros) Name() string      { return "ros" }
func (ros) StackType() string { return "ALIYUN::ROS::Stack" }
